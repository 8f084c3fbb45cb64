import type { ConditionInput } from '@sterna/sdk'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { conditionExplanationQuery, segmentNamesQuery } from '../data/segments.ts'
import { PersonPicker } from '../people/person-picker.tsx'
import { useProject } from '../projects/current.ts'
import { explain } from '../ui/notice/explain.ts'
import { Explanation } from './explanation.tsx'

/** Whether one contact matches the condition as it is now, line by line. */
export function CheckSomeone({ condition }: { condition: ConditionInput }) {
  const project = useProject()
  const [person, setPerson] = useState<string>()
  const names = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const answer = useQuery({ ...conditionExplanationQuery(project.id, condition, person ?? ''), placeholderData: keepPreviousData })
  return (
    <div>
      <h3 className="text-muted text-xs">Check someone</h3>
      <div className="mt-1 flex">
        <PersonPicker person={person} onPerson={setPerson} placeholder="Choose a contact…" canClear />
      </div>
      {person && answer.data && (
        <div className="mt-2 space-y-2" aria-busy={answer.isFetching}>
          <p role="status">{answer.data.matches ? 'Matches.' : 'Does not match.'}</p>
          <Explanation explanation={answer.data.explanation} segments={names} />
        </div>
      )}
      {person && answer.error && <p className="mt-2 text-danger">{explain(answer.error)}</p>}
    </div>
  )
}
