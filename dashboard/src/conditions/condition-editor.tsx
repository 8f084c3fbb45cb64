import { type Condition, type ConditionInput, SternaError } from '@sterna/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { conditionPreviewQuery, segmentNamesQuery } from '../data/segments.ts'
import { ContactLink } from '../people/contact-link.tsx'
import { useProject } from '../projects/current.ts'
import { Field } from '../ui/form/field.tsx'
import { TextArea } from '../ui/form/input.tsx'
import { useDebouncedValue } from '../ui/form/use-debounced-value.ts'
import { Banner } from '../ui/page/banner.tsx'
import { Count, formatCount } from '../ui/text/count.tsx'
import { explain } from '../ui/text/explain.ts'
import { ConditionSentence } from './condition-sentence.tsx'
import { filterAt, readConditionText } from './condition-text.ts'
import { describeFilter } from './sentence.ts'

const PREVIEW_AFTER_MS = 400

type ConditionEditorProps = { text: string; onText: (text: string) => void }

/** A condition as JSON, beside it as a sentence, and the people that match it now. */
export function ConditionEditor({ text, onText }: ConditionEditorProps) {
  const project = useProject()
  const settled = useDebouncedValue(text, PREVIEW_AFTER_MS)
  const read = readConditionText(text)
  const asked = readConditionText(settled)
  const preview = useQuery({
    ...conditionPreviewQuery(project.id, 'condition' in asked ? asked.condition : undefined),
    placeholderData: keepPreviousData,
  })
  const problem = 'problem' in read ? read.problem : preview.error ? problemOf(preview.error) : undefined
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="min-w-0 space-y-2">
        <Field
          name="condition"
          label="Condition"
          hint={
            <>
              JSON: groups of filters, joined by <code className="font-mono">logic</code>; within a group every filter must hold.
            </>
          }
        >
          <TextArea
            rows={12}
            spellCheck={false}
            className="font-mono"
            value={text}
            aria-invalid={problem !== undefined || undefined}
            onChange={(event) => onText(event.target.value)}
          />
        </Field>
        {problem && <Banner tone="danger">{problem}</Banner>}
        {'condition' in read && !problem && (
          <p className="text-ui">
            <span className="text-muted">In words:</span> {/* The server has checked it. */}
            <ConditionSentence condition={read.condition as Condition} />.
          </p>
        )}
      </div>
      <aside aria-label="Who matches" className="min-w-0 rounded-lg border border-line p-3 text-ui" aria-busy={preview.isFetching}>
        {preview.data && !problem && 'condition' in asked ? (
          <Matches preview={preview.data} condition={asked.condition} />
        ) : (
          <p className="text-muted">Who matches is shown here.</p>
        )}
      </aside>
    </div>
  )
}

/** Errors of a condition name its place: `condition.groups.0.filters.1.value`. */
function problemOf(error: Error): string {
  if (!(error instanceof SternaError) || error.errors.length === 0) return explain(error)
  return error.errors.map(({ field, message }) => `${field}: ${message}`).join(' ')
}

type Preview = NonNullable<Awaited<ReturnType<NonNullable<ReturnType<typeof conditionPreviewQuery>['queryFn']>>>>

function Matches({ preview, condition }: { preview: Preview; condition: ConditionInput }) {
  const { count, estimated, mailable, perFilter, sample } = preview
  const project = useProject()
  const names = useQuery(segmentNamesQuery(project.id)).data ?? {}
  return (
    <div className="space-y-3">
      <p>
        <span className="font-semibold text-base">
          <Count value={count} about={estimated} /> {count === 1 ? 'contact' : 'contacts'}
        </span>
        <span className="block text-muted">{formatCount(mailable, { about: estimated })} may get marketing email</span>
      </p>
      {perFilter.length > 1 && (
        <div>
          <h3 className="text-muted text-xs">What each line leaves of its group</h3>
          <ul className="mt-1 space-y-0.5">
            {perFilter.map(({ path, remaining, ...rest }) => {
              const text = describeFilter(filterAt(condition, path) ?? rest, names)
              return (
                <li key={path} className="flex gap-2">
                  <span className="min-w-0 flex-1 truncate" title={text}>
                    {text}
                  </span>
                  <Count value={remaining} about={estimated} className={remaining === 0 ? 'text-danger' : ''} />
                </li>
              )
            })}
          </ul>
        </div>
      )}
      {sample.length > 0 && (
        <div>
          <h3 className="text-muted text-xs">For example</h3>
          <ul className="mt-1">
            {sample.map((contact) => (
              <li key={contact.id} className="flex min-w-0">
                <ContactLink contact={contact} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}
