import type { Campaign } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import { useState } from 'react'
import { invalidateSegments } from '../../../data/segments.ts'
import { trackJob } from '../../../jobs/own-jobs.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { formatCount } from '../../../ui/text/count.tsx'
import type { RecipientFilters } from './recipients-query.ts'

const GROUPS = {
  clicked: { label: 'Clicked', filter: { activity: 'clicked' }, count: ({ clickedCount }: Campaign) => clickedCount },
  opened: { label: 'Opened', filter: { activity: 'opened' }, count: ({ openedCount }: Campaign) => openedCount },
  notOpened: {
    label: 'Did not open',
    filter: { activity: 'notOpened' },
    count: (campaign: Campaign) => campaign.sentCount - campaign.openedCount,
  },
  notClicked: {
    label: 'Did not click',
    filter: { activity: 'notClicked' },
    count: (campaign: Campaign) => campaign.sentCount - campaign.clickedCount,
  },
  failed: { label: 'Failed', filter: { outcome: 'failed' }, count: ({ failedCount }: Campaign) => failedCount },
  all: { label: 'All recipients', filter: {}, count: ({ totalRecipients }: Campaign) => totalRecipients },
} satisfies Record<string, { label: string; filter: RecipientFilters; count: (campaign: Campaign) => number }>

const SHOWN = 'shown'
type Group = keyof typeof GROUPS | typeof SHOWN

type CopyToSegmentProps = {
  campaign: Campaign
  /** The filters of the list on screen, offered first. */
  shown?: { filter: RecipientFilters; total: number }
}

/** Makes a static segment of recipients. */
export function CopyToSegment({ campaign, shown }: CopyToSegmentProps) {
  const [open, setOpen] = useState(false)
  if (campaign.totalRecipients === 0) return null
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)} aria-label="Copy as segment…">
        <UsersRound aria-hidden="true" />
        <span className="max-sm:hidden">Copy as segment…</span>
      </Button>
      <Dialog
        title="Copy recipients as a segment"
        description="Creates a static segment: write to the people who clicked, or remind those who did not open."
        open={open}
        onOpenChange={setOpen}
      >
        <CopyForm key={JSON.stringify(shown?.filter)} campaign={campaign} {...(shown && { shown })} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function CopyForm({ campaign, shown, onDone }: CopyToSegmentProps & { onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [group, setGroup] = useState<Group>(shown ? SHOWN : 'clicked')
  const copy = useMutation({
    mutationFn: async (name: string) => {
      const filter = group === SHOWN ? (shown?.filter ?? {}) : GROUPS[group].filter
      const { jobId, segmentId } = await api.campaigns.copyToSegment(campaign.id, { name, filter })
      trackJob(project.id, { id: jobId, label: `Copy recipients to ${name}` })
      await invalidateSegments(queries, project.id)
      onDone()
      await navigate({ to: '/app/p/$projectId/segments/$segmentId', params: { projectId: project.id, segmentId } })
    },
  })
  const options = Object.fromEntries(
    Object.entries(GROUPS).map(([id, { label, count }]) => [id, `${label} (${formatCount(Math.max(0, count(campaign)))})`]),
  )
  const label = group === SHOWN ? 'Recipients' : GROUPS[group].label
  return (
    <Form error={copy.error} onSubmit={(value) => copy.mutate(value('name'))}>
      <Field name="group" label="Recipients">
        <Select
          options={{ ...(shown && { [SHOWN]: `The recipients in this list (${formatCount(shown.total)})` }), ...options }}
          value={group}
          // The options are the groups.
          onChange={(event) => setGroup(event.target.value as Group)}
        />
      </Field>
      <Field name="name" label="Name of the segment">
        <Input key={group} required maxLength={100} defaultValue={`${label}: ${campaign.name}`.slice(0, 100)} autoComplete="off" />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={copy.isPending}>
          Copy as segment
        </Button>
      </DialogButtons>
    </Form>
  )
}
