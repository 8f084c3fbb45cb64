import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { fieldsQuery } from '../../data/contacts.ts'
import { eventNamesQuery } from '../../data/events.ts'
import { segmentsQuery } from '../../data/segments.ts'
import { useProject } from '../../projects/current.ts'
import { catalogOf, type FieldCatalog, type FieldSources } from './fields.ts'

type Options = {
  /** A segment cannot refer to itself. */
  exceptSegment?: string | undefined
  /** Fields of the event that starts a workflow, for its branches. */
  started?: FieldSources['started']
}

const NONE: never[] = []

/** The fields of this project that conditions can ask for. */
export function useFieldCatalog({ exceptSegment, started }: Options = {}): FieldCatalog {
  const project = useProject()
  const fields = useQuery(fieldsQuery(project.id)).data ?? NONE
  const events = useQuery(eventNamesQuery(project.id)).data ?? NONE
  const segments = useQuery(segmentsQuery(project.id)).data ?? NONE
  return useMemo(
    () => catalogOf({ fields, events, segments: segments.filter(({ id }) => id !== exceptSegment), started }),
    [fields, events, segments, exceptSegment, started],
  )
}
