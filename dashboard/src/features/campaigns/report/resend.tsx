import type { Campaign } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { reasonsQuery } from '../../../data/campaigns.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { countOf, formatCount } from '../../../ui/text/count.tsx'
import { useShowCampaign } from '../campaign/campaign-menu.tsx'
import { REASON_WORDS } from '../campaign/words.ts'
import { resendableOf } from './resendable.ts'

const PEOPLE = { one: 'person', many: 'people' }

/** Offered for a finished campaign, if a resend may help anyone. Names the reasons. */
export function Resend({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const [open, setOpen] = useState(false)
  const reasons = useQuery({ ...reasonsQuery(project.id, campaign), ...(campaign.failedCount === 0 && { enabled: false }) }).data
  if (campaign.status !== 'SENT' || !reasons) return null
  const resendable = resendableOf(reasons)
  if (resendable.count + resendable.unknown === 0) return null
  return (
    <>
      <Button variant="primary" size="sm" onClick={() => setOpen(true)} title="Failed for a temporary reason">
        <RotateCcw aria-hidden="true" />
        Resend to {resendable.count > 0 ? `the ${formatCount(resendable.count)} that failed` : 'those with an unknown outcome'}
      </Button>
      <Dialog
        title="Resend to the recipients that failed"
        description="Only to recipients that failed for a temporary reason. Recipients that have it do not get it again."
        open={open}
        onOpenChange={setOpen}
      >
        <ResendForm campaign={campaign} resendable={resendable} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

type ResendFormProps = { campaign: Campaign; resendable: ReturnType<typeof resendableOf>; onDone: () => void }

function ResendForm({ campaign, resendable: { passing, count, unknown }, onDone }: ResendFormProps) {
  const api = useApi()
  const show = useShowCampaign()
  const [withUnknown, setWithUnknown] = useState(count === 0)
  const total = count + (withUnknown ? unknown : 0)
  const resend = useMutation({
    mutationFn: async () => show(await api.campaigns.resend(campaign.id, withUnknown ? { includeUnknown: true } : {})),
    onSuccess: () => {
      toast(`Queued again for ${countOf(total, PEOPLE)}`)
      onDone()
    },
  })
  return (
    <Form error={resend.error} onSubmit={() => resend.mutate()}>
      <ul className="space-y-1 text-ui">
        {passing.map(({ reason, recipients }) => (
          <li key={reason} className="flex justify-between gap-4">
            <span>{REASON_WORDS[reason]}</span>
            <span className="tabular-nums">{formatCount(recipients)}</span>
          </li>
        ))}
      </ul>
      {unknown > 0 && (
        <label className="flex gap-2 text-ui">
          <input
            type="checkbox"
            checked={withUnknown}
            onChange={() => setWithUnknown(!withUnknown)}
            className="mt-0.5 size-4 shrink-0 accent-accent"
          />
          <span>
            Also to {countOf(unknown, PEOPLE)} whose outcome is unknown
            <span className="block text-muted">The provider never answered: they may get it twice.</span>
          </span>
        </label>
      )}
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={resend.isPending} disabled={total === 0}>
          Resend to {countOf(total, PEOPLE)}
        </Button>
      </DialogButtons>
    </Form>
  )
}
