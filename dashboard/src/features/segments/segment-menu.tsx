import type { Segment } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Copy, CopyPlus, RefreshCw, Trash2 } from 'lucide-react'
import { projectKey } from '../../api.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { copy } from '../../ui/copy.ts'
import { countOf } from '../../ui/count.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { explain } from '../../ui/explain.ts'
import { MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { toast } from '../../ui/toast.tsx'
import { usageQuery } from './queries.ts'

export function useInvalidateSegments() {
  const project = useProject()
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: projectKey(project.id, 'segments') })
}

type SegmentMenuProps = { segment: Pick<Segment, 'id' | 'name'>; onDelete: () => void }

export function SegmentMenu({ segment, onDelete }: SegmentMenuProps) {
  const project = useProject()
  const api = useApi()
  const navigate = useNavigate()
  const invalidate = useInvalidateSegments()
  const run = (work: () => Promise<unknown>) => work().catch((error: unknown) => toast(explain(error), { tone: 'danger' }))

  async function duplicate() {
    const created = await api.segments.duplicate(segment.id)
    await invalidate()
    toast(`${segment.name} was duplicated`)
    await navigate({ to: '/app/p/$projectId/segments/$segmentId', params: { projectId: project.id, segmentId: created.id } })
  }
  async function refresh() {
    const { memberCount } = await api.segments.refresh(segment.id)
    await invalidate()
    toast(`${segment.name} has ${countOf(memberCount, { one: 'member', many: 'members' })}`)
  }
  return (
    <>
      <MenuItem onSelect={() => copy(segment.id, 'Id')}>
        <Copy aria-hidden="true" />
        Copy the id
      </MenuItem>
      <MenuItem onSelect={() => run(refresh)}>
        <RefreshCw aria-hidden="true" />
        Count the members now
      </MenuItem>
      <MenuItem onSelect={() => run(duplicate)}>
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

type DeleteSegmentProps = { segment: Pick<Segment, 'id' | 'name'>; onClose: () => void; onDeleted?: () => unknown }

/** Says where it is used. The server refuses to delete a segment that is needed, and names what needs it. */
export function DeleteSegment({ segment, onClose, onDeleted }: DeleteSegmentProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const usage = useQuery({ ...usageQuery(project.id, segment.id), staleTime: 0 }).data
  const uses = usage && [...usage.usedInCampaigns, ...usage.usedInWorkflows, ...usage.usedInSegments].map(({ name }) => name)
  return (
    <Confirm
      title={`Delete ${segment.name}?`}
      description={`The contacts stay; only the segment is deleted. ${uses ? (uses.length > 0 ? `It is used in ${uses.slice(0, 5).join(', ')}${uses.length > 5 ? ', …' : ''}.` : 'Nothing uses it.') : ''}`}
      action="Delete segment"
      onConfirm={async () => {
        await api.segments.delete(segment.id)
        await onDeleted?.()
        await queries.invalidateQueries({ queryKey: projectKey(project.id, 'segments', 'list') })
        toast(`${segment.name} was deleted`)
      }}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
