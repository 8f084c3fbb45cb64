import type { Sterna } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useApi, useProject } from '../projects/current.ts'
import { toast } from '../ui/dialog/toast.tsx'
import { IconButton } from '../ui/form/button.tsx'
import { explain } from '../ui/notice/explain.ts'
import { countOf, type Noun } from '../ui/text/count.tsx'
import { trackJob } from './own-jobs.ts'

type ExportListProps = {
  noun: Noun
  total: number
  about?: boolean
  /** Starts the export of what the list shows, with its filters. */
  start: (api: Sterna) => Promise<{ jobId: string }>
}

/** Exports what a list shows, on all its pages, as a job. The tray offers the file. */
export function ExportList({ noun, total, about = false, start }: ExportListProps) {
  const project = useProject()
  const api = useApi()
  const run = useMutation({
    mutationFn: async () => {
      const { jobId } = await start(api)
      trackJob(project.id, { id: jobId, label: `Export ${countOf(total, noun, about)}` })
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <IconButton label="Export as CSV" disabled={run.isPending} onClick={() => run.mutate()}>
      <Download />
    </IconButton>
  )
}
