import type { Segment } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { invalidateSegments } from '../../../data/segments.ts'
import { readAddresses } from '../../../people/pasted-addresses.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { CreateDialog } from '../../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { CheckboxLine } from '../../../ui/form/checkbox.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input, TextArea } from '../../../ui/form/input.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { inChunks } from './chunks.ts'

const NOUN = { one: 'address', many: 'addresses' }
const MEMBERS = { one: 'member', many: 'members' }

/** Adds people to a static segment, by paste or by file. */
export function AddMembers({ segment, label = 'Add members' }: { segment: Segment; label?: string }) {
  return (
    <CreateDialog
      label={label}
      title={`Add members to ${segment.name}`}
      description="Contacts that are in it already stay. Adding a contact does not change its subscription."
      shortcut="Add members"
    >
      {(close) => <AddForm segment={segment} onDone={close} />}
    </CreateDialog>
  )
}

function AddForm({ segment, onDone }: { segment: Segment; onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const [createMissing, setCreateMissing] = useState(false)
  const [unknown, setUnknown] = useState<string[]>([])
  const addresses = readAddresses(text)
  const hasAdded = useRef(false)
  // When the dialog closes: the list of the first member replaces the page that this dialog is on.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it closes
  useEffect(
    () => () => {
      if (hasAdded.current) void invalidateSegments(queries, project.id)
    },
    [],
  )
  const add = useMutation({
    mutationFn: async () => {
      const notFound: string[] = []
      let added = 0
      for (const emails of inChunks(addresses)) {
        const result = await api.segments.addMembers(segment.id, { emails, createMissing })
        added += result.added
        notFound.push(...result.notFound)
      }
      hasAdded.current = true
      toast(`${countOf(added, MEMBERS)} added`)
      setUnknown(notFound)
      if (notFound.length === 0) onDone()
    },
  })
  return (
    <Form error={add.error} onSubmit={() => add.mutate()}>
      {unknown.length > 0 && (
        <Banner tone="warning">
          {countOf(unknown.length, NOUN)} without a contact: {unknown.slice(0, 5).join(', ')}
          {unknown.length > 5 ? ', …' : ''}
        </Banner>
      )}
      <Field
        name="addresses"
        label="Addresses"
        hint={
          <>
            Separated by lines, spaces, commas or semicolons. To bring more than addresses:{' '}
            <Link
              to="/app/p/$projectId/contacts/import"
              params={{ projectId: project.id }}
              search={{ segment: segment.id }}
              className="link"
            >
              import a CSV into this segment
            </Link>
            .
          </>
        }
      >
        <TextArea
          required
          rows={5}
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
          className="font-mono"
        />
      </Field>
      <Field name="file" label="Or choose a file" hint="All addresses in the file are added.">
        <Input
          type="file"
          accept=".csv,.txt,text/csv,text/plain"
          className="py-1.5"
          onChange={async (event) => setText((await event.target.files?.[0]?.text()) ?? '')}
        />
      </Field>
      <CheckboxLine
        label="Create contacts for unknown addresses"
        checked={createMissing}
        onChange={() => setCreateMissing(!createMissing)}
      />
      <DialogButtons>
        <Button onClick={onDone}>{unknown.length > 0 ? 'Close' : 'Cancel'}</Button>
        <Button type="submit" variant="primary" busy={add.isPending} disabled={addresses.length === 0}>
          Add {countOf(addresses.length, NOUN)}
        </Button>
      </DialogButtons>
    </Form>
  )
}
