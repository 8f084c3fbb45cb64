import type { Contact, Segment } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { invalidateSegments } from '../../../data/segments.ts'
import type { ListRequest } from '../../../list/list-search.ts'
import { NOTHING, type Selection } from '../../../list/selection.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { countOf } from '../../../ui/text/count.tsx'
import { inChunks } from './chunks.ts'
import { segmentMembersRequest } from './members-query.ts'

const MEMBERS = { one: 'member', many: 'members' }

type RemoveMembersProps = {
  segment: Segment
  selection: Selection
  count: number
  request: ListRequest
  rows: Contact[]
  onDone: (selection: Selection) => void
}

/** Takes the selected contacts out of a static segment. Reversible, so it offers Undo instead of asking. */
export function RemoveMembers({ segment, selection, count, request, rows, onDone }: RemoveMembersProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  // A selection outlives a change of page, and the API removes by address.
  const seen = useRef(new Map<string, string>())
  for (const { id, email } of rows) seen.current.set(id, email)

  async function addressesOf(): Promise<string[]> {
    if (selection.kind === 'ids') return [...selection.ids].flatMap((id) => seen.current.get(id) ?? [])
    const addresses: string[] = []
    for await (const { id, email } of api.contacts.all(segmentMembersRequest(segment.id, request)))
      if (!selection.except.has(id)) addresses.push(email)
    return addresses
  }
  const refresh = () => invalidateSegments(queries, project.id)
  const remove = useMutation({
    mutationFn: async () => {
      const addresses = await addressesOf()
      for (const emails of inChunks(addresses)) await api.segments.removeMembers(segment.id, { emails })
      onDone(NOTHING)
      await refresh()
      const undo = async () => {
        for (const emails of inChunks(addresses)) await api.segments.addMembers(segment.id, { emails })
        await refresh()
      }
      toast(`${countOf(addresses.length, MEMBERS)} removed`, { action: { label: 'Undo', run: undo } })
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <Button size="sm" busy={remove.isPending} onClick={() => remove.mutate()}>
      Remove {countOf(count, MEMBERS)}
    </Button>
  )
}
