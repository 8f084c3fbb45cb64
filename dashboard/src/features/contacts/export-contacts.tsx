import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { trackJob } from '../../jobs/own-jobs.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { IconButton } from '../../ui/button.tsx'
import { countOf } from '../../ui/count.tsx'
import { explain } from '../../ui/explain.ts'
import { toast } from '../../ui/toast.tsx'
import { contactFilter } from './contact-filter.ts'

type ExportContactsProps = { request: ListRequest; total: number; about: boolean }

/** Exports what the list shows, on all its pages, as a job. The tray offers the file. */
export function ExportContacts({ request, total, about }: ExportContactsProps) {
  const project = useProject()
  const api = useApi()
  const start = useMutation({
    mutationFn: async () => {
      const filter = contactFilter(request)
      const { jobId } = await api.contacts.export(Object.keys(filter).length > 0 ? { filter } : {})
      trackJob(project.id, { id: jobId, label: `Export ${countOf(total, { one: 'contact', many: 'contacts' }, about)}` })
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <IconButton label="Export as CSV" disabled={start.isPending} onClick={() => start.mutate()}>
      <Download />
    </IconButton>
  )
}
