import type { WebhookEndpoint } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { EyeOff, Webhook } from 'lucide-react'
import { endpointsQuery } from '../../data/projects.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { Page } from '../../ui/page/page.tsx'
import { formatCount } from '../../ui/text/count.tsx'
import { curl } from '../../ui/text/curl.ts'
import { EndpointForm } from './endpoint-form.tsx'
import { disabledReasonOf, EndpointStatus, Health } from './health.tsx'
import { describeSelectors } from './selectors.ts'
import { TestEndpoint } from './test-endpoint.tsx'

const LIVE_MS = 10_000

export function WebhooksPage() {
  const project = useProject()
  if (canManage(project)) return <Endpoints />
  return (
    <Page title="Webhooks">
      <EmptyState icon={EyeOff} title="Only owners and admins can see webhook endpoints">
        Ask one of them if your server should be told what happens in {project.name}.
      </EmptyState>
    </Page>
  )
}

function Endpoints() {
  const project = useProject()
  const endpoints = useQuery({ ...endpointsQuery(project.id), refetchInterval: LIVE_MS })
  if (endpoints.isPending) return <Page title="Webhooks" loading />
  if (endpoints.isLoadingError) return <ErrorState error={endpoints.error} retry={endpoints.refetch} />
  if (endpoints.data.length === 0)
    return (
      <Page title="Webhooks">
        <FirstRun
          icon={Webhook}
          title="No webhook endpoint yet"
          action={<AddEndpoint />}
          call={{
            title: 'Or by the API',
            code: curl('POST', '/webhook-endpoints', { body: { url: 'https://example.com/webhooks', events: ['email.bounce'] } }),
          }}
        >
          Your server is told what happens here: an email bounced, a contact unsubscribed, a campaign was sent.
        </FirstRun>
      </Page>
    )
  return (
    <Page title="Webhooks" width="full" count={formatCount(endpoints.data.length)} actions={<AddEndpoint />}>
      {endpoints.data.map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} />
      ))}
    </Page>
  )
}

function EndpointCard({ endpoint }: { endpoint: WebhookEndpoint }) {
  const project = useProject()
  const reason = disabledReasonOf(endpoint)
  return (
    <Card
      title={
        <Link
          to="/app/p/$projectId/webhooks/$endpointId"
          params={{ projectId: project.id, endpointId: endpoint.id }}
          className="wrap-anywhere rounded-sm hover:text-accent"
        >
          {endpoint.url}
        </Link>
      }
      description={
        <span className="flex flex-wrap items-center gap-x-3">
          <EndpointStatus endpoint={endpoint} />
          <span>{describeSelectors(endpoint.events)}</span>
          {endpoint.description && <span>{endpoint.description}</span>}
        </span>
      }
      actions={<TestEndpoint endpoint={endpoint} />}
    >
      {reason && (
        <div className="mb-4">
          <Banner tone="danger">{reason}</Banner>
        </div>
      )}
      <Health endpoint={endpoint} />
    </Card>
  )
}

function AddEndpoint() {
  const project = useProject()
  const navigate = useNavigate()
  return (
    <CreateDialog
      label="Add endpoint"
      title="Add a webhook endpoint"
      description="Requests are signed, and tried again for a day if your server does not answer."
      shortcut="Add a webhook endpoint"
    >
      {(close) => (
        <EndpointForm
          onCancel={close}
          onSaved={({ id }) => {
            toast('The endpoint was added')
            close()
            void navigate({ to: '/app/p/$projectId/webhooks/$endpointId', params: { projectId: project.id, endpointId: id } })
          }}
        />
      )}
    </CreateDialog>
  )
}
