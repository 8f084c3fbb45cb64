import type { Body, Campaign } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { trackJob } from '../../../jobs/own-jobs.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { toast } from '../../../ui/dialog/toast.tsx'
import { IconButton } from '../../../ui/form/button.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { countOf } from '../../../ui/text/count.tsx'

type Export = Body<'POST /campaigns/{id}/export'>
type ExportRecipientsProps = { campaign: Campaign; list: Export['list']; filter: NonNullable<Export['filter']>; total: number }

const NOUNS = { recipients: { one: 'recipient', many: 'recipients' }, excluded: { one: 'contact left out', many: 'contacts left out' } }

/** Exports what the list shows, on all its pages, as a job. The tray offers the file. */
export function ExportRecipients({ campaign, list, filter, total }: ExportRecipientsProps) {
  const project = useProject()
  const api = useApi()
  const start = useMutation({
    mutationFn: async () => {
      const { jobId } = await api.campaigns.export(campaign.id, { list, ...(Object.keys(filter).length > 0 && { filter }) })
      trackJob(project.id, { id: jobId, label: `Export ${countOf(total, NOUNS[list])} of ${campaign.name}` })
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <IconButton label="Export as CSV" disabled={start.isPending} onClick={() => start.mutate()}>
      <Download />
    </IconButton>
  )
}
