import type { Template } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { templateUsageQuery } from '../../data/templates.ts'
import { useProject } from '../../projects/current.ts'
import { DeleteRecord, RecordMenu } from '../../projects/record-menu.tsx'
import { sentOf, usesOf } from './usage.tsx'

type Named = Pick<Template, 'id' | 'name'>

export function TemplateMenu({ template, onDelete }: { template: Named; onDelete: () => void }) {
  return <RecordMenu list="templates" row={template} onDelete={onDelete} />
}

type DeleteTemplateProps = { template: Named; onClose: () => void; onDeleted?: () => unknown }

/** Says where it is used. The server refuses to delete a template that an active campaign or workflow needs. */
export function DeleteTemplate({ template, ...dialog }: DeleteTemplateProps) {
  const project = useProject()
  const usage = useQuery({ ...templateUsageQuery(project.id, template.id), staleTime: 0 }).data
  const uses = usage && usesOf(usage)
  return (
    <DeleteRecord
      list="templates"
      row={template}
      description={
        <>
          The template and its versions are deleted. Calls of /v1/send that name it will fail.{' '}
          {usage && (uses ? `It is used in ${uses}. ` : 'No campaign or workflow uses it. ')}
          {usage && `${sentOf(usage)} sent with it ${usage.emailsSent === 1 ? 'is' : 'are'} kept.`}
        </>
      }
      {...dialog}
    />
  )
}
