import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { fieldsQuery } from '../../data/contacts.ts'
import { invalidateSegments } from '../../data/segments.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { conditionOf } from './segment-condition.ts'

/** Keeps the filters of the list as a segment, which new contacts enter by themselves. */
export function SaveAsSegment({ request }: { request: ListRequest }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const condition = conditionOf(request, useQuery(fieldsQuery(project.id)).data ?? [], project.nameFields)
  const save = useMutation({
    mutationFn: async (name: string) => {
      const segment = await api.segments.create({ name, ...(condition && { condition }) })
      await invalidateSegments(queries, project.id)
      setOpen(false)
      toast(`The segment ${segment.name} was saved`)
      await navigate({ to: '/app/p/$projectId/contacts', params: { projectId: project.id }, search: { segment: segment.id } })
    },
  })
  if (!condition) return null
  return (
    <>
      <Button size="sm" variant="quiet" onClick={() => setOpen(true)}>
        Save as segment…
      </Button>
      <Dialog
        title="Save as segment"
        description="The segment has everyone who matches these filters, now and later."
        open={open}
        onOpenChange={setOpen}
      >
        <Form error={save.error} onSubmit={(value) => save.mutate(value('name'))}>
          <Field name="name" label="Name">
            <Input required maxLength={100} autoComplete="off" />
          </Field>
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Link
              to="/app/p/$projectId/segments/new"
              params={{ projectId: project.id }}
              search={{ condition: JSON.stringify(condition) }}
              className={buttonClass()}
            >
              Refine it first
            </Link>
            <Button type="submit" variant="primary" busy={save.isPending}>
              Save segment
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  )
}
