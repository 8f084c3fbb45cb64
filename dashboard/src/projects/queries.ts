import { queryOptions } from '@tanstack/react-query'
import { api } from '../api.ts'

export const projectsQuery = queryOptions({ queryKey: ['projects'], queryFn: () => api.projects.list() })
