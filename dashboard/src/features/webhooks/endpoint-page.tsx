import type { WebhookDelivery, WebhookEndpoint } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { RotateCcw, Webhook } from 'lucide-react'
import { endpointQuery, invalidateWebhooks } from '../../data/projects.ts'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { useList } from '../../list/use-list.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { MenuItem } from '../../ui/dialog/menu.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { Page } from '../../ui/page/page.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { DeliveryPeek } from './delivery-peek.tsx'
import { EndpointActions, EndpointFacts } from './endpoint-facts.tsx'

const NOUN = { one: 'delivery', many: 'deliveries' }
const LIVE_MS = 5_000
const STATUSES = { pending: 'Waiting', delivered: 'Delivered', failed: 'Failed' }

const FILTERS: Filter[] = [
  { name: 'status', label: 'Status', kind: 'choice', options: STATUSES },
  { name: 'type', label: 'Type', kind: 'text', hint: 'email.bounce' },
]

function lastAnswerOf({ attempts }: WebhookDelivery) {
  const last = attempts.at(-1)
  return last ? (last.error ?? `Status ${last.status} in ${last.durationMs} ms`) : '–'
}

const COLUMNS: Column<WebhookDelivery>[] = [
  { id: 'type', heading: 'Type', cell: ({ type }) => <span title={type}>{type}</span> },
  { id: 'status', heading: 'Status', width: 'w-28 lg:w-32', cell: ({ status }) => <Status kind="delivery" status={status} /> },
  {
    id: 'answer',
    heading: 'Last answer',
    width: 'w-[26%] lg:w-72',
    from: 'md',
    cell: (row) => <span title={lastAnswerOf(row)}>{lastAnswerOf(row)}</span>,
  },
  { id: 'attempts', heading: 'Attempts', width: 'w-24', numeric: true, from: 'sm', cell: ({ attempts }) => attempts.length },
  { id: 'createdAt', heading: 'Created', width: 'w-28 lg:w-32', cell: ({ createdAt }) => <Time value={createdAt} /> },
]

export function EndpointPage() {
  const { endpointId } = useParams({ from: '/app/p/$projectId/webhooks/$endpointId' })
  const project = useProject()
  const endpoint = useQuery({ ...endpointQuery(project.id, endpointId), refetchInterval: LIVE_MS })
  if (endpoint.isPending) return <Page title="Webhook endpoint" parent={<AllEndpoints />} width="full" loading />
  if (endpoint.isLoadingError) return <ErrorState error={endpoint.error} retry={endpoint.refetch} />
  return <Deliveries endpoint={endpoint.data} />
}

function AllEndpoints() {
  const project = useProject()
  return (
    <Link to="/app/p/$projectId/webhooks" params={{ projectId: project.id }} className="rounded-sm hover:text-ink hover:underline">
      Webhooks
    </Link>
  )
}

const rowId = ({ id }: WebhookDelivery) => id

/** The deliveries to the endpoint, and its replies. */
function Deliveries({ endpoint }: { endpoint: WebhookEndpoint }) {
  const list = useList<WebhookDelivery>({
    name: 'webhook-deliveries',
    scope: endpoint.id,
    filters: FILTERS,
    load: (api, { limit, cursor, filters }) =>
      api.webhookEndpoints.deliveries(endpoint.id, {
        limit,
        ...(cursor && { cursor }),
        ...(isStatus(filters.status) && { status: filters.status }),
        ...(filters.type && { type: filters.type }),
      }),
    rowId,
    live: LIVE_MS,
  })
  const replay = useReplay(endpoint)
  return (
    <ListPage
      title={new URL(endpoint.url).host}
      parent={<AllEndpoints />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ type }) => type}
      peek={(id, row) =>
        row && (
          <DeliveryPeek key={id} delivery={row} {...(endpoint.enabled && { onReplay: () => replay.mutate(row) })} busy={replay.isPending} />
        )
      }
      rowMenu={(row) => (
        <MenuItem disabled={!endpoint.enabled} onSelect={() => replay.mutate(row)}>
          <RotateCcw aria-hidden="true" />
          Replay
        </MenuItem>
      )}
      byTime
      actions={<EndpointActions endpoint={endpoint} />}
      call={curl('GET', `/webhook-endpoints/${endpoint.id}/deliveries?limit=${list.request.limit}`)}
      above={<EndpointFacts endpoint={endpoint} />}
      firstRun={
        <FirstRun icon={Webhook} title="Nothing to tell yet" action={<EndpointActions endpoint={endpoint} />}>
          What happens from now on is told to this endpoint. Failed deliveries are kept for 30 days, others for 3.
        </FirstRun>
      }
    />
  )
}

const isStatus = (value: string | undefined): value is keyof typeof STATUSES => value !== undefined && Object.hasOwn(STATUSES, value)

function useReplay(endpoint: WebhookEndpoint) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ id }: WebhookDelivery) => api.webhookEndpoints.replayDelivery(endpoint.id, id),
    onSuccess: async () => {
      await invalidateWebhooks(queries, project.id)
      toast('The request is made again, with the same id')
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
}
