import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Copy, CopyPlus, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { invalidate, invalidateLists } from '../data/keys.ts'
import { Confirm } from '../ui/dialog/dialog.tsx'
import { MenuItem, MenuSeparator } from '../ui/dialog/menu.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { explain } from '../ui/notice/explain.ts'
import { copy } from '../ui/text/copy.ts'
import { useApi, useProject } from './current.ts'

const NOUNS = { campaigns: 'campaign', segments: 'segment', templates: 'template', workflows: 'workflow' } as const
type List = keyof typeof NOUNS
type Named = { id: string; name: string }

type RecordMenuProps = {
  list: List
  row: Named
  onDelete: () => void
  /** Shown instead of "Delete…", for a record that cannot be deleted now. */
  last?: ReactNode
  /** Said after the name of a copy. */
  copyNote?: string
  /** Items of its own. */
  children?: ReactNode
}

/** The menu of a campaign, segment, template or workflow. */
export function RecordMenu({ list, row: { id, name }, onDelete, last, copyNote = '', children }: RecordMenuProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  async function duplicate() {
    try {
      const created = await api[list].duplicate(id)
      await invalidate(queries, project.id, list)
      toast(`${name} was duplicated${copyNote}`)
      await navigate({ to: `/app/p/${project.id}/${list}/${created.id}` })
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
  return (
    <>
      <MenuItem onSelect={() => copy(id, 'Id')}>
        <Copy aria-hidden="true" />
        Copy the id
      </MenuItem>
      <MenuItem onSelect={duplicate}>
        <CopyPlus aria-hidden="true" />
        Duplicate
      </MenuItem>
      {children}
      <MenuSeparator />
      {last ?? (
        <MenuItem onSelect={onDelete}>
          <Trash2 aria-hidden="true" />
          Delete…
        </MenuItem>
      )}
    </>
  )
}

type DeleteRecordProps = {
  list: List
  row: Named
  /** The consequences: what is deleted with it, and what stays. */
  description: ReactNode
  phrase?: string
  onClose: () => void
  /** Called before the lists are read again: a page of the record is left first. */
  onDeleted?: (() => unknown) | undefined
}

/** Asks before a campaign, segment, template or workflow is deleted. A refusal of the server is shown in the dialog. */
export function DeleteRecord({ list, row: { id, name }, description, phrase, onClose, onDeleted }: DeleteRecordProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  return (
    <Confirm
      title={`Delete ${name}?`}
      description={description}
      action={`Delete ${NOUNS[list]}`}
      phrase={phrase}
      onConfirm={async () => {
        await api[list].delete(id)
        await onDeleted?.()
        await invalidateLists(queries, project.id, list)
        toast(`${name} was deleted`)
      }}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
