import type { Template } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Copy, CopyPlus, Trash2 } from 'lucide-react'
import { projectKey } from '../../api.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { copy } from '../../ui/copy.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { explain } from '../../ui/explain.ts'
import { MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { toast } from '../../ui/toast.tsx'
import { usageQuery } from './queries.ts'
import { sentOf, usesOf } from './usage.tsx'

/** Copies it and opens the copy. */
function useDuplicate(template: Pick<Template, 'id' | 'name'>) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async () => {
    try {
      const created = await api.templates.duplicate(template.id)
      await queries.invalidateQueries({ queryKey: projectKey(project.id, 'templates', 'list') })
      toast(`${template.name} was duplicated`)
      await navigate({ to: '/app/p/$projectId/templates/$templateId', params: { projectId: project.id, templateId: created.id } })
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
}

type TemplateMenuProps = { template: Pick<Template, 'id' | 'name'>; onDelete: () => void }

export function TemplateMenu({ template, onDelete }: TemplateMenuProps) {
  const duplicate = useDuplicate(template)
  return (
    <>
      <MenuItem onSelect={() => copy(template.id, 'Id')}>
        <Copy aria-hidden="true" />
        Copy the id
      </MenuItem>
      <MenuItem onSelect={duplicate}>
        <CopyPlus aria-hidden="true" />
        Duplicate
      </MenuItem>
      <MenuSeparator />
      <MenuItem onSelect={onDelete}>
        <Trash2 aria-hidden="true" />
        Delete…
      </MenuItem>
    </>
  )
}

type DeleteTemplateProps = { template: Pick<Template, 'id' | 'name'>; onClose: () => void; onDeleted?: () => unknown }

/** Says where it is used. The server refuses to delete a template that an active campaign or workflow needs. */
export function DeleteTemplate({ template, onClose, onDeleted }: DeleteTemplateProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const usage = useQuery({ ...usageQuery(project.id, template.id), staleTime: 0 }).data
  const uses = usage && usesOf(usage)
  async function remove() {
    await api.templates.delete(template.id)
    await onDeleted?.()
    await queries.invalidateQueries({ queryKey: projectKey(project.id, 'templates', 'list') })
    toast(`${template.name} was deleted`)
  }
  return (
    <Confirm
      title={`Delete ${template.name}?`}
      description={
        <>
          The template and its versions are deleted. Calls of /v1/send that name it will fail.{' '}
          {usage && (uses ? `It is used in ${uses}. ` : 'No campaign or workflow uses it. ')}
          {usage && `${sentOf(usage)} sent with it ${usage.emailsSent === 1 ? 'is' : 'are'} kept.`}
        </>
      }
      action="Delete template"
      onConfirm={remove}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
