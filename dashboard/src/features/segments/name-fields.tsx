import type { Draft } from '../../editor/use-draft.ts'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import type { SegmentValues } from './segment-values.ts'

/** Name and description of a segment. */
export function NameFields({ draft }: { draft: Draft<SegmentValues> }) {
  return (
    <>
      <Field name="name" label="Name">
        <Input value={draft.values.name} onChange={(event) => draft.set({ name: event.target.value })} maxLength={100} autoComplete="off" />
      </Field>
      <Field name="description" label="Description" hint="For your team only.">
        <Input
          value={draft.values.description}
          onChange={(event) => draft.set({ description: event.target.value })}
          maxLength={500}
          autoComplete="off"
        />
      </Field>
    </>
  )
}
