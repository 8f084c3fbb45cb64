import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { keysOf } from './keys.ts'

const key = keysOf('palette')

/** The results of a search over everything. */
export const paletteQuery = <Found>(projectId: string, q: string, find: () => Promise<Found>) =>
  queryOptions({ queryKey: key(projectId, 'search', q), queryFn: find, enabled: q !== '', placeholderData: keepPreviousData })
