import type { Template } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Unlink } from 'lucide-react'
import { storeTemplate, templateUsageQuery } from '../../data/templates.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { DeleteRecord, RecordMenu } from '../../projects/record-menu.tsx'
import { MenuItem } from '../../ui/dialog/menu.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { sentOf, usesOf } from './usage.tsx'

type Named = Pick<Template, 'id' | 'name'>
type TemplateMenuProps = { template: Named & Pick<Template, 'workflowId'>; onDelete: () => void }

export function TemplateMenu({ template, onDelete }: TemplateMenuProps) {
  return (
    <RecordMenu list="templates" row={template} onDelete={onDelete}>
      {template.workflowId && <KeepItem template={template} />}
    </RecordMenu>
  )
}

/** A template that was written in a workflow is deleted with it, unless it is made one of its own. */
function KeepItem({ template: { id, name } }: { template: Named }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function keep() {
    try {
      await storeTemplate(queries, project.id, await api.templates.update(id, { workflowId: null }))
      toast(`${name} is kept if its workflow is deleted`)
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
  return (
    <MenuItem onSelect={keep}>
      <Unlink aria-hidden="true" />
      Keep without its workflow
    </MenuItem>
  )
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
