import { useQuery, useQueryClient } from '@tanstack/react-query'
import { EyeOff } from 'lucide-react'
import { api } from '../../client/api.ts'
import { invalidateKeys, keyUsageQuery } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { CodeBlock, CopyField } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'
import { ApiKeys } from './api-keys.tsx'
import { WebhookSecret } from './webhook-secret.tsx'

export function KeysPage() {
  const project = useProject()

  if (!project.public || !project.secret) {
    return (
      <Page title="Keys">
        <EmptyState icon={EyeOff} title="Only owners and admins can see the keys">
          Ask one of them if you need to call the API for {project.name}.
        </EmptyState>
      </Page>
    )
  }

  return (
    <Page title="Keys" description="Send one of these with every request. It identifies your project.">
      <Card
        title={<KeyTitle name="Public key" badge={<Badge tone="accent">Safe to publish</Badge>} />}
        description="Can only record events. Use it in your website or app."
      >
        <CopyField label="Public key" value={project.public} />
        <LastUse of="public" />
      </Card>
      <Card
        title={<KeyTitle name="Secret key" badge={<Badge tone="warning">Keep it on your server</Badge>} />}
        description="Sends email and can read and change everything in this project. Treat it like a password."
      >
        <CopyField label="Secret key" value={project.secret} secret />
        <LastUse of="secret" />
      </Card>
      <Card title="Try it" description="Adds a contact. Set STERNA_SECRET_KEY to the secret key, then paste this into a terminal.">
        <CodeBlock title="Terminal" label="Example call" code={exampleCall()} />
        <p className="mt-3 text-ui">
          {/* A plain link: the server renders this page, not the dashboard. */}
          <a href="/docs" className="link">
            Read the API reference
          </a>
        </p>
      </Card>
      <ApiKeys />
      <WebhookSecret />
      <RegenerateCard />
    </Page>
  )
}

function KeyTitle({ name, badge }: { name: string; badge: React.ReactNode }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {name} {badge}
    </span>
  )
}

/** To the minute: tells whether a key can be replaced without breaking anything. */
function LastUse({ of }: { of: 'public' | 'secret' }) {
  const project = useProject()
  const usage = useQuery(keyUsageQuery(project.id)).data
  if (!usage) return null
  const { lastUsedAt } = usage[of]
  return (
    <p className="mt-2 text-muted text-xs">
      {lastUsedAt ? (
        <>
          Last used <Time value={lastUsedAt} />
        </>
      ) : (
        'Not used yet'
      )}
    </p>
  )
}

function RegenerateCard() {
  const project = useProject()
  const queries = useQueryClient()

  async function regenerate() {
    await api.projects.regenerateKeys(project.id)
    await invalidateKeys(queries, project.id)
    toast('Keys replaced')
  }

  return (
    <Card
      title="Replace the pair"
      description="Use this if the public or the secret key above has leaked. Both stop working immediately; other keys go on."
      actions={
        <ConfirmDialog
          title="Replace both keys?"
          description="Every website, app and server that uses the current keys stops working until it has the new ones."
          action="Replace keys"
          phrase={project.name}
          onConfirm={regenerate}
        >
          {(open) => <Button onClick={open}>Replace keys…</Button>}
        </ConfirmDialog>
      }
    />
  )
}

function exampleCall(): string {
  return [
    `curl ${window.location.origin}/contacts \\`,
    '  -H "Authorization: Bearer $STERNA_SECRET_KEY" \\',
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"email": "ada@example.com", "data": {"plan": "pro"}}'`,
  ].join('\n')
}
