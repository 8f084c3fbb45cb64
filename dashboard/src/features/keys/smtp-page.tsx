import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { EyeOff, PlugZap } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../client/api.ts'
import { domainsQuery } from '../../data/domains.ts'
import { configQuery } from '../../data/installation.ts'
import { invalidateKeys } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { ViewTabs } from '../../ui/page/view-tabs.tsx'
import { CodeBlock, CopyField } from '../../ui/text/copy-field.tsx'
import { encryptionOf, SMTP_CLIENTS, SMTP_USER, type SmtpAccess, type SmtpClient, smtpSnippet } from './smtp-snippets.ts'

const DESCRIPTION = 'For programs that cannot call an API: they send their messages to Sterna, which signs, delivers and records them.'

export function SmtpPage() {
  const project = useProject()
  const config = useQuery(configQuery)

  if (config.isPending) return <SmtpFrame content={<Skeleton className="h-40" />} />
  if (config.isError)
    return <SmtpFrame content={<ErrorState title="Could not load the settings" error={config.error} retry={config.refetch} />} />
  if (!project.secret)
    return (
      <SmtpFrame
        content={
          <EmptyState icon={EyeOff} title="Only owners and admins can make keys">
            Ask one of them for a key if a program of yours sends email by SMTP.
          </EmptyState>
        }
      />
    )
  const { enabled, host, port, tls, plaintext } = config.data.features.smtp
  if (!enabled || host === null || port === null || tls === null)
    return (
      <SmtpFrame
        content={
          <EmptyState icon={PlugZap} title="This installation does not accept email by SMTP">
            Its operator can set SMTP_SUBMISSION_PORT. Until then, use the API.
          </EmptyState>
        }
      />
    )
  return <SmtpFrame content={<Access place={{ host, port, tls }} encryption={encryptionOf({ tls, plaintext })} />} />
}

const SmtpFrame = ({ content }: { content: React.ReactNode }) => (
  <Page title="SMTP" description={DESCRIPTION}>
    {content}
  </Page>
)

function Access({ place, encryption }: { place: Pick<SmtpAccess, 'host' | 'port' | 'tls'>; encryption: string }) {
  const project = useProject()
  const domains = useQuery(domainsQuery(project.id)).data
  const [key, setKey] = useState<string>()
  const domain = domains?.find(({ verified }) => verified)?.domain ?? 'your-domain.example'
  return (
    <>
      <Card title="Connection" description="The user name can be anything. The password is a secret key that may send.">
        <dl className="grid grid-cols-1 items-center gap-x-4 gap-y-2 text-ui sm:grid-cols-[7rem_minmax(0,1fr)]">
          <Row name="Host" value={place.host} />
          <Row name="Port" value={String(place.port)} />
          <dt className="text-muted">Encryption</dt>
          <dd>{encryption}</dd>
          <Row name="User" value={SMTP_USER} />
          <dt className="text-muted">Password</dt>
          <dd>{key ? <FreshKey value={key} /> : <MakeKey onMade={setKey} />}</dd>
        </dl>
      </Card>
      <Snippets access={{ ...place, key: key ?? 'YOUR_SECRET_KEY', from: `hello@${domain}` }} />
    </>
  )
}

const Row = ({ name, value }: { name: string; value: string }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="min-w-0">
      <CopyField label={name} value={value} />
    </dd>
  </>
)

const FreshKey = ({ value }: { value: string }) => (
  <>
    <CopyField label="Password" value={value} />
    <p className="mt-1 text-muted text-xs">Copy it now: it is shown only once. You find it under Keys to rotate or revoke it.</p>
  </>
)

/** A key that may only send: a leaked password of a forum must not open the contacts. */
function MakeKey({ onMade }: { onMade: (key: string) => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const make = useMutation({
    mutationFn: () => api.projects.createKey(project.id, { name: 'SMTP', kind: 'secret', scopes: ['send'] }),
    onSuccess: async ({ key }) => {
      onMade(key)
      await invalidateKeys(queries, project.id)
    },
  })
  return (
    <>
      <Button onClick={() => make.mutate()} busy={make.isPending}>
        Make a key for SMTP
      </Button>
      {make.error && <ErrorState title="Could not make a key" error={make.error} retry={() => make.mutate()} />}
    </>
  )
}

function Snippets({ access }: { access: SmtpAccess }) {
  const [client, setClient] = useState<SmtpClient>('nodemailer')
  const { title, code } = smtpSnippet(client, access)
  return (
    <Card title="Examples" description="The sender must be an address of one of your verified domains.">
      <ViewTabs label="Program" tabs={SMTP_CLIENTS} chosen={client} onChoose={setClient}>
        <CodeBlock title={title} label="Example" code={code} />
      </ViewTabs>
    </Card>
  )
}
