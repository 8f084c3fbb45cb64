import type { Suppression } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { invalidateSuppressions } from '../../data/suppressions.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Confirm } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { suppressionName } from './suppressions-query.ts'

const WARNINGS: Record<Suppression['reason'], string> = {
  BOUNCE: 'An email to it bounced. Lift this only if the mailbox exists now: another bounce harms the delivery of all your email.',
  COMPLAINT:
    'This person marked an email as spam. Lift this only if they asked for it: another complaint harms the delivery of all your email.',
  MANUAL: 'It receives email again, starting with the next one.',
}

export function LiftSuppression({ suppression, onClose }: { suppression: Suppression; onClose: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const name = suppressionName(suppression)
  async function lift() {
    await api.suppressions.remove(name)
    await invalidateSuppressions(queries, project.id)
    toast(`${name} is no longer suppressed`)
  }
  return (
    <Confirm
      title={`Lift the suppression of ${name}?`}
      description={`${WARNINGS[suppression.reason]} A contact that was unsubscribed stays unsubscribed.`}
      action="Lift the suppression"
      onConfirm={lift}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
