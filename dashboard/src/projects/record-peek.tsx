import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { buttonClass } from '../ui/form/button.tsx'
import { ErrorState } from '../ui/page/error-state.tsx'
import { PathLink } from '../ui/page/path-link.tsx'
import { useProject } from './current.ts'

type RecordPeekProps<Row> = {
  noun: string
  /** Below the project. */
  path: string
  query: UseQueryResult<Row>
  children: (row: Row) => ReactNode
}

/** A look at a record beside its list, with the link to its page. */
export function RecordPeek<Row>({ noun, path, query, children }: RecordPeekProps<Row>) {
  const project = useProject()
  if (query.isLoadingError) return <ErrorState title={`Could not load this ${noun}`} error={query.error} retry={query.refetch} />
  if (!query.data) return null
  return (
    <div className="space-y-4">
      <PathLink to={`/app/p/${project.id}${path}`} className={buttonClass('secondary', 'sm')}>
        Open {noun}
      </PathLink>
      {children(query.data)}
    </div>
  )
}
