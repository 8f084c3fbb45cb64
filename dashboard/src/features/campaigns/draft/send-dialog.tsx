import type { Campaign, CampaignPreflight } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Send, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../../projects/current.ts'
import { RaiseCap } from '../../../projects/raise-cap.tsx'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { CheckboxLine } from '../../../ui/form/checkbox.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { momentOf, shortTime, utcText } from '../../../ui/form/zoned-time.ts'
import { countOf, formatCount } from '../../../ui/text/count.tsx'
import { useShowCampaign } from '../campaign/campaign-menu.tsx'
import { type CampaignCheck, checksOf } from './checks.ts'
import type { When } from './when-section.tsx'

const PEOPLE = { one: 'person', many: 'people' }
/** From here on the number of people has to be typed. */
const MANY = 10_000
const UNDO_SECONDS = 10

/** The label of the button: `Send to 5 people`, `Schedule for 9 May, 09:00`. */
function sendLabel(when: When, preflight: CampaignPreflight | undefined): string {
  const at = when.kind === 'later' ? momentOf(when) : undefined
  if (at) return `Schedule for ${shortTime(at, when.zone)}`
  if (when.kind === 'later') return 'Schedule'
  return preflight ? `Send to ${countOf(preflight.audience.recipients, PEOPLE, preflight.audience.estimated)}` : 'Send'
}

type SendButtonProps = { campaign: Campaign; when: When; preflight: CampaignPreflight | undefined; problem: string | undefined }

/** The main button of the composer. It asks with the numbers; then there are ten seconds to undo it. */
export function SendButton({ campaign, when, preflight, problem }: SendButtonProps) {
  const [open, setOpen] = useState(false)
  const label = sendLabel(when, preflight)
  return (
    <>
      {problem && <span className="hidden max-w-64 truncate text-muted text-xs lg:inline">Not ready: {problem}</span>}
      <Button
        variant="primary"
        size="sm"
        disabled={problem !== undefined || !preflight}
        title={problem ? `Not ready: ${problem}` : undefined}
        onClick={() => setOpen(true)}
      >
        <Send aria-hidden="true" />
        {label}
      </Button>
      {open && preflight && (
        <Dialog
          title={`${label}?`}
          description={<Summary campaign={campaign} when={when} preflight={preflight} />}
          open
          onOpenChange={setOpen}
        >
          <SendForm campaign={campaign} when={when} preflight={preflight} label={label} onDone={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  )
}

type AskedProps = { campaign: Campaign; when: When; preflight: CampaignPreflight }

function Summary({ campaign, when, preflight: { audience } }: AskedProps) {
  const at = when.kind === 'later' ? momentOf(when) : undefined
  return (
    <div className="pt-2 text-ink">
      <Facts>
        <Fact label="People">{countOf(audience.recipients, PEOPLE, audience.estimated)}</Fact>
        <Fact label="From">{[campaign.fromName, campaign.from].filter(Boolean).join(', ')}</Fact>
        <Fact label="Subject">{campaign.subject}</Fact>
        {at && (
          <Fact label="Starts">
            {shortTime(at, when.zone)}, {when.zone.replaceAll('_', ' ')} ({utcText(at)})
          </Fact>
        )}
      </Facts>
      <p className="mt-3 text-muted">
        {at
          ? 'It goes to everyone who matches at that time.'
          : `It starts in ${UNDO_SECONDS} seconds; until then you can undo it. It goes to everyone who matches at that moment.`}
      </p>
    </div>
  )
}

function SendForm({ campaign, when, preflight, label, onDone }: AskedProps & { label: string; onDone: () => void }) {
  const api = useApi()
  const show = useShowCampaign()
  const [typed, setTyped] = useState('')
  const [isRead, setIsRead] = useState(false)
  const warnings = checksOf(preflight, campaign.body).filter(({ level }) => level === 'warning')
  const { recipients } = preflight.audience
  const phrase = recipients > MANY ? formatCount(recipients) : undefined
  const send = useMutation({
    mutationFn: async () => {
      const at = when.kind === 'later' ? momentOf(when) : undefined
      await show(await api.campaigns.send(campaign.id, at ? { scheduledFor: at.toISOString() } : { delaySeconds: UNDO_SECONDS }))
    },
    onSuccess: onDone,
  })
  return (
    <Form error={send.error} onSubmit={() => send.mutate()}>
      <RaiseCap error={send.error} />
      {warnings.length > 0 && <Warnings warnings={warnings} isRead={isRead} onRead={setIsRead} />}
      {phrase && (
        <Field name="phrase" label={<>Type {phrase} to confirm the number of people</>}>
          <Input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" inputMode="numeric" />
        </Field>
      )}
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button
          type="submit"
          variant="primary"
          busy={send.isPending}
          disabled={(warnings.length > 0 && !isRead) || (phrase !== undefined && digits(typed) !== digits(phrase))}
        >
          {label}
        </Button>
      </DialogButtons>
    </Form>
  )
}

type WarningsProps = { warnings: CampaignCheck[]; isRead: boolean; onRead: (isRead: boolean) => void }

/** The warnings of the checks once more, with the tick that accepts them. */
function Warnings({ warnings, isRead, onRead }: WarningsProps) {
  return (
    <div className="space-y-2 rounded-lg bg-warning-soft px-3 py-2.5 text-ui">
      <ul aria-label="Warnings" className="max-h-40 space-y-1.5 overflow-y-auto">
        {warnings.map(({ id, text }) => (
          <li key={id} className="flex items-start gap-2 text-warning">
            <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
            <span className="min-w-0 wrap-break-word">{text}</span>
          </li>
        ))}
      </ul>
      <CheckboxLine
        label={warnings.length === 1 ? 'Send it despite this warning' : 'Send it despite these warnings'}
        checked={isRead}
        onChange={() => onRead(!isRead)}
      />
    </div>
  )
}

/** With or without separators. */
const digits = (text: string) => text.replace(/\D/g, '')
