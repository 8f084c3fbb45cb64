import type { Domain } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Globe, RefreshCw, Trash2 } from 'lucide-react'
import { domainsQuery, invalidateDomains } from '../../data/domains.ts'
import { SendEmail } from '../../people/send-email.tsx'
import { canManage, useApi, useProject } from '../../projects/current.ts'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { ConfirmDialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { Page } from '../../ui/page/page.tsx'
import { SearchedList } from '../../ui/table/searched-list.tsx'
import { formatCount } from '../../ui/text/count.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { LinkHost } from './link-host.tsx'
import { Records } from './records.tsx'

const LIVE_MS = 10_000

export function DomainsPage() {
  const project = useProject()
  const domains = useQuery({
    ...domainsQuery(project.id),
    refetchInterval: ({ state }) =>
      state.data?.some(({ status, linkHostStatus }) => status === 'pending' || linkHostStatus === 'pending') ? LIVE_MS : false,
  })
  const mayManage = canManage(project)
  if (domains.isPending) return <Page title="Domains" loading />
  if (domains.isLoadingError) return <ErrorState error={domains.error} retry={domains.refetch} />
  const isEmpty = domains.data.length === 0
  return (
    <Page title="Domains" width="full" count={formatCount(domains.data.length)} actions={mayManage && !isEmpty && <AddDomain />}>
      {!mayManage && <Banner>Only owners and admins can add or delete domains.</Banner>}
      {isEmpty && (
        <FirstRun icon={Globe} title="No domain yet" action={mayManage && <AddDomain />}>
          Email from your own name needs a few DNS records. About five minutes.
        </FirstRun>
      )}
      {!isEmpty && <DomainList domains={domains.data} mayManage={mayManage} />}
    </Page>
  )
}

const ROUTE = '/app/p/$projectId/domains'
const NOUN = { one: 'domain', many: 'domains' }
/** Cards on screen at once: each has the records of a domain. */
const MAX_CARDS = 25

function DomainList({ domains, mayManage }: { domains: Domain[]; mayManage: boolean }) {
  const { id: projectId } = useProject()
  const { q = '' } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  return (
    <SearchedList
      items={domains}
      noun={NOUN}
      textOf={({ domain }) => domain}
      q={q}
      onQuery={(next) => navigate({ to: ROUTE, params: { projectId }, search: next ? { q: next } : {}, replace: true })}
      max={MAX_CARDS}
    >
      {(shown) => (
        <div className="space-y-4">
          {shown.map((domain) => (
            <DomainCard key={domain.id} domain={domain} mayManage={mayManage} />
          ))}
        </div>
      )}
    </SearchedList>
  )
}

function DomainCard({ domain, mayManage }: { domain: Domain; mayManage: boolean }) {
  return (
    <Card
      flush
      title={domain.domain}
      description={
        <span className="flex flex-wrap items-center gap-x-3">
          <Status kind="domain" status={domain.status} />
          {domain.lastCheckedAt && (
            <span>
              Checked <Time value={domain.lastCheckedAt} />
            </span>
          )}
        </span>
      }
      actions={
        <span className="flex items-center gap-2">
          {domain.verified && mayManage && <SendFromIt domain={domain} />}
          <CheckNow domain={domain} />
          {mayManage && <DeleteDomain domain={domain} />}
        </span>
      }
    >
      {(domain.notice || domain.lastError) && (
        <div className="space-y-2 p-4">
          {domain.notice && <Banner>{domain.notice}</Banner>}
          {domain.lastError && !domain.verified && <Banner tone="warning">{domain.lastError}</Banner>}
        </div>
      )}
      {domain.verified ? (
        <details className="border-line border-t">
          <summary className="px-4 py-2 text-muted text-ui hover:text-ink">DNS records</summary>
          <Records domain={domain} />
        </details>
      ) : (
        <Records domain={domain} />
      )}
      <LinkHost domain={domain} mayManage={mayManage} />
    </Card>
  )
}

/** The first thing to do with a domain that is verified. */
function SendFromIt({ domain }: { domain: Domain }) {
  const { id: projectId } = useProject()
  const navigate = useNavigate()
  return (
    <SendEmail
      label="Send a test"
      variant="secondary"
      sender={domain}
      onSent={(emailId) => navigate({ to: '/app/p/$projectId/emails/$emailId', params: { projectId, emailId } })}
    />
  )
}

function CheckNow({ domain }: { domain: Domain }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const check = useMutation({
    mutationFn: () => api.domains.verify(domain.id),
    onSuccess: async ({ verified }) => {
      await invalidateDomains(queries, project.id)
      toast(verified ? `${domain.domain} is verified` : `Some records of ${domain.domain} are still missing`)
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <Button size="sm" busy={check.isPending} onClick={() => check.mutate()}>
      {!check.isPending && <RefreshCw aria-hidden="true" />}
      Check now
    </Button>
  )
}

function DeleteDomain({ domain }: { domain: Domain }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function remove() {
    await api.domains.remove(domain.id)
    await invalidateDomains(queries, project.id)
    toast(`${domain.domain} was deleted`)
  }
  return (
    <ConfirmDialog
      title={`Delete ${domain.domain}?`}
      description="Email from this domain is refused at once, and emails that wait to be sent fail. Adding it again needs new DNS records."
      action="Delete domain"
      phrase={domain.verified ? domain.domain : undefined}
      onConfirm={remove}
    >
      {(open) => (
        <IconButton label={`Delete ${domain.domain}`} onClick={open}>
          <Trash2 />
        </IconButton>
      )}
    </ConfirmDialog>
  )
}

function AddDomain() {
  return (
    <CreateDialog
      label="Add domain"
      title="Add a domain"
      description="The part of your sender address behind the @. You get the DNS records to publish."
      shortcut="Add a domain"
    >
      {(close) => <AddForm onDone={close} />}
    </CreateDialog>
  )
}

function AddForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const add = useMutation({
    mutationFn: (domain: string) => api.domains.add({ domain }),
    onSuccess: async ({ domain }) => {
      await invalidateDomains(queries, project.id)
      toast(`${domain} was added`)
      onDone()
    },
  })
  return (
    <Form error={add.error} onSubmit={(value) => add.mutate(value('domain'))}>
      <Field name="domain" label="Domain">
        <Input placeholder="example.com" required autoComplete="off" spellCheck={false} autoCapitalize="none" />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={add.isPending}>
          Add domain
        </Button>
      </DialogButtons>
    </Form>
  )
}
