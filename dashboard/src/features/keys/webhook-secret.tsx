import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../client/api.ts'
import { webhookSecretQuery } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { CopyField } from '../../ui/text/copy-field.tsx'
import { Time } from '../../ui/text/time.tsx'

/** Signs the requests of webhook steps, so that their receiver can tell them from forged ones. */
export function WebhookSecret() {
  const project = useProject()
  const queries = useQueryClient()
  const query = useQuery(webhookSecretQuery(project.id))

  async function rotate() {
    queries.setQueryData(webhookSecretQuery(project.id).queryKey, await api.projects.rotateWebhookSecret(project.id))
    toast('Webhook secret replaced')
  }

  return (
    <Card
      title="Webhook secret"
      description="Workflows sign their webhooks with it (Standard Webhooks, HMAC-SHA256). Check the signature where you receive them."
      actions={
        <ConfirmDialog
          title="Replace the webhook secret?"
          description="For one day webhooks are signed with both secrets. After that, receivers that only know the old one refuse them."
          action="Replace secret"
          onConfirm={rotate}
        >
          {(open) => <Button onClick={open}>Replace secret…</Button>}
        </ConfirmDialog>
      }
    >
      {query.isLoadingError && <ErrorState title="Could not load the webhook secret" error={query.error} retry={query.refetch} />}
      {query.isPending && <Skeleton className="h-10" />}
      {query.data && <CopyField key={query.data.secret} label="Webhook secret" value={query.data.secret} secret />}
      {query.data?.previousUntil && (
        <p className="mt-3 text-muted text-ui">
          Webhooks are signed with the secret before, too: the last time <Time value={query.data.previousUntil} />.
        </p>
      )}
    </Card>
  )
}
