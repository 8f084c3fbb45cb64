import type { ConditionInput, Result } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { segmentNamesQuery } from '../data/segments.ts'
import { ContactLink } from '../people/contact-link.tsx'
import { useProject } from '../projects/current.ts'
import { Count, formatCount } from '../ui/text/count.tsx'
import { filterAt } from './builder/condition-text.ts'
import { CheckSomeone } from './check-someone.tsx'
import { describeFilter } from './sentence/sentence.ts'

type MatchesProps = { preview: Result<'POST /segments/preview'>; condition: ConditionInput }

/** The contacts that match a condition: their count, the count after each filter, and a sample. */
export function Matches({ preview, condition }: MatchesProps) {
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
          <h3 className="text-muted text-xs">Contacts left after each filter</h3>
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
              <li key={contact.id} className="flex min-h-6 min-w-0 items-center">
                <ContactLink contact={contact} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <CheckSomeone condition={condition} />
    </div>
  )
}
