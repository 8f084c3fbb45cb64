import { useQuery } from '@tanstack/react-query'
import { ChevronDown, Monitor, Moon, Smartphone } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import type { FindPeople } from '../data/contacts.ts'
import { contentPreviewQuery } from '../data/templates.ts'
import { PersonPicker } from '../people/person-picker.tsx'
import { useProject } from '../projects/current.ts'
import { Button } from '../ui/form/button.tsx'
import { Field } from '../ui/form/field.tsx'
import { TextArea } from '../ui/form/input.tsx'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import { MessageFrame } from '../ui/message/message-frame.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import { useIsSlow } from '../ui/page/use-is-slow.ts'
import { type ContentValues, contentOf, hasOpenTag } from './values/content-values.ts'
import { readSample } from './values/sample-data.ts'

/** How the preview is shown; all of it in the URL. */
export type PreviewView = { as?: string; show?: 'phone' | 'text' | 'source'; dark?: 'on' }

type PreviewProps = {
  values: ContentValues
  view: PreviewView
  onView: (view: PreviewView) => void
  people: FindPeople
  onMissing?: (missing: string[]) => void
}

const PREVIEW_AFTER_MS = 300

/** The unsaved content as the server would send it to a person. */
export function Preview({ values, view, onView, people, onMissing }: PreviewProps) {
  const [sample, setSample] = useState('')
  const data = readSample(sample)
  const preview = usePreview(values, view.as, data ?? {})
  const missing = preview.data?.missingVariables
  // biome-ignore lint/correctness/useExhaustiveDependencies: called once per answer, not per rendering
  useEffect(() => onMissing?.(missing ?? []), [missing])
  const set = (patch: Partial<PreviewView>) => onView({ ...view, ...patch })
  return (
    <section aria-label="Preview" className="flex h-full min-h-0 min-w-0 flex-col bg-surface" aria-busy={preview.isPending}>
      <div className="flex min-h-11 flex-wrap items-center gap-2 border-line border-b px-3 py-1">
        <PersonPicker
          label="Preview as"
          people={people}
          person={view.as}
          onPerson={(as) => set({ as })}
          placeholder="Sample person"
          canClear
          button={previewButton}
        >
          <SampleField sample={sample} onSample={setSample} isInvalid={data === undefined} />
        </PersonPicker>
        <div className="ml-auto flex flex-wrap items-center gap-1">
          <Toggle label="Wide" pressed={view.show === undefined} onPress={() => set({ show: undefined })}>
            <Monitor aria-hidden="true" />
          </Toggle>
          <Toggle label="Phone" pressed={view.show === 'phone'} onPress={() => set({ show: 'phone' })}>
            <Smartphone aria-hidden="true" />
          </Toggle>
          <Toggle label="Text" pressed={view.show === 'text'} onPress={() => set({ show: 'text' })}>
            Text
          </Toggle>
          <Toggle label="Source" pressed={view.show === 'source'} onPress={() => set({ show: 'source' })}>
            Source
          </Toggle>
          <Toggle label="Dark" pressed={view.dark === 'on'} onPress={() => set({ dark: view.dark ? undefined : 'on' })}>
            <Moon aria-hidden="true" />
          </Toggle>
        </div>
      </div>
      <Notes error={preview.error} missing={missing ?? []} />
      {preview.data ? (
        <>
          <p className="border-line border-b px-3 py-2 text-ui">
            <span className="text-muted">Subject</span> <span className="wrap-break-word font-medium">{preview.data.subject}</span>
          </p>
          <Content preview={preview.data} view={view} />
        </>
      ) : (
        preview.isPending && <Waiting />
      )}
    </section>
  )
}

const previewButton = (name: string) => (
  <Button size="sm" className="min-w-0 max-w-60 shrink" aria-label={`Preview as ${name}`}>
    <span className="truncate">As {name}</span>
    <ChevronDown aria-hidden="true" />
  </Button>
)

type SampleFieldProps = { sample: string; onSample: (sample: string) => void; isInvalid: boolean }

/** JSON that overrides the data of the person. */
function SampleField({ sample, onSample, isInvalid }: SampleFieldProps) {
  return (
    <div className="border-line border-t pt-2">
      <Field name="sample" label="With this data" hint={isInvalid ? 'Must be a JSON object.' : 'JSON. A field that is null is removed.'}>
        <TextArea
          rows={3}
          className="font-mono"
          spellCheck={false}
          placeholder={'{ "plan": null }'}
          value={sample}
          aria-invalid={isInvalid || undefined}
          onChange={(event) => onSample(event.target.value)}
        />
      </Field>
    </div>
  )
}

function usePreview(
  { subject, previewText, body, design, type, from, fromName }: ContentValues,
  person: string | undefined,
  data: Record<string, unknown>,
) {
  const project = useProject()
  const request = {
    subject,
    ...contentOf({ body, design }),
    type,
    ...(previewText && { previewText }),
    ...(fromName && { fromName }),
    ...(from.includes('@') && { from }),
    ...(person && { contactId: person }),
    ...(Object.keys(data).length > 0 && { data }),
    frame: true,
  }
  // As text: an equal request must not start the timer again.
  const settled = useDebouncedValue(JSON.stringify(request), PREVIEW_AFTER_MS)
  const shown = JSON.parse(settled) as { subject: string; body?: string; previewText?: string }
  return useQuery({
    ...contentPreviewQuery(project.id, settled),
    enabled:
      [shown.subject, shown.body ?? 'blocks'].every((text) => text.trim() !== '') &&
      [shown.subject, shown.body ?? '', shown.previewText ?? ''].every((text) => !hasOpenTag(text)),
  })
}

function Waiting() {
  const isSlow = useIsSlow()
  return (
    <p className="p-3 text-muted text-ui" role="status">
      <span className={isSlow ? '' : 'sr-only'}>Loading…</span>
    </p>
  )
}

const MAX_NAMED = 10

function Notes({ error, missing }: { error: Error | null; missing: string[] }) {
  if (error)
    return (
      <div className="p-2">
        <Banner tone="danger">{explain(error)}</Banner>
      </div>
    )
  if (missing.length === 0) return null
  return (
    <div className="p-2">
      <Banner tone="warning">
        No value and no fallback: {missing.slice(0, MAX_NAMED).join(', ')}
        {missing.length > MAX_NAMED ? ', …' : ''}
      </Banner>
    </div>
  )
}

type ContentProps = { preview: { html: string; text: string; frameUrl?: string }; view: PreviewView }

function Content({ preview: { html, text, frameUrl }, view: { show, dark } }: ContentProps) {
  if (show === 'text' || show === 'source') {
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      <pre className="min-h-0 flex-1 overflow-auto whitespace-pre-wrap wrap-break-word p-3 font-mono text-code" tabIndex={0}>
        {show === 'text' ? text : html}
      </pre>
    )
  }
  return (
    <div className={`min-h-0 flex-1 overflow-hidden ${show === 'phone' ? 'flex justify-center bg-sunken p-3' : ''}`}>
      {frameUrl && <MessageFrame fill images title="Preview of the email" url={frameUrl} phone={show === 'phone'} dark={dark === 'on'} />}
    </div>
  )
}

type ToggleProps = { label: string; pressed: boolean; onPress: () => void; children: ReactNode }

function Toggle({ label, pressed, onPress, children }: ToggleProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      onClick={onPress}
      className="inline-flex h-8 min-w-8 items-center justify-center rounded-md px-1.5 font-medium text-muted text-xs hover:bg-sunken hover:text-ink aria-pressed:bg-accent-soft aria-pressed:text-ink pointer-coarse:h-11 pointer-coarse:min-w-11 [&>svg]:size-4"
    >
      {children}
    </button>
  )
}
