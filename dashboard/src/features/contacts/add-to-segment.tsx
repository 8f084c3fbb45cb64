import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { segmentsQuery } from '../../data/segments.ts'
import { trackJob } from '../../jobs/own-jobs.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { NOTHING, type Selection } from '../../list/selection.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Select } from '../../ui/form/input.tsx'
import { namesById } from '../../ui/form/options.ts'
import { countOf } from '../../ui/text/count.tsx'
import { bulkBody } from './contact-filter.ts'

type AddToSegmentProps = {
  selection: Selection
  count: number
  request: ListRequest
  about: boolean
  onDone: (selection: Selection) => void
}

/** Only static segments have members that can be added. Without one there is nothing to offer. */
export function AddToSegment({ selection, count, request, about, onDone }: AddToSegmentProps) {
  const project = useProject()
  const api = useApi()
  const [open, setOpen] = useState(false)
  const segments = useQuery(segmentsQuery(project.id)).data?.filter(({ type }) => type === 'STATIC') ?? []
  const contacts = countOf(count, { one: 'contact', many: 'contacts' }, about)
  const add = useMutation({
    mutationFn: async (segmentId: string) => {
      const { jobId } = await api.contacts.bulkAddToSegment({ ...bulkBody(selection, request), segmentId })
      const name = segments.find(({ id }) => id === segmentId)?.name ?? 'a segment'
      trackJob(project.id, { id: jobId, label: `Add ${contacts} to ${name}` })
      setOpen(false)
      onDone(NOTHING)
    },
  })
  if (segments.length === 0) return null
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Add to segment…
      </Button>
      <Dialog title={`Add ${contacts} to a segment`} description="Contacts that are in it already stay." open={open} onOpenChange={setOpen}>
        <Form error={add.error} onSubmit={(value) => add.mutate(value('segmentId'))}>
          <Field name="segmentId" label="Segment">
            <Select options={namesById(segments)} />
          </Field>
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" variant="primary" busy={add.isPending}>
              Add {contacts}
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  )
}
