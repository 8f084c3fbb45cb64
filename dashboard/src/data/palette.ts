import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { keysOf } from './keys.ts'

const key = keysOf('palette')

/** What a search of everything finds. */
export const paletteQuery = <Found>(projectId: string, q: string, find: () => Promise<Found>) =>
  queryOptions({ queryKey: key(projectId, 'search', q), queryFn: find, enabled: q !== '', placeholderData: keepPreviousData })
