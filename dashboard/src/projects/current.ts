import type { Project, Sterna } from '@sterna/sdk'
import { createContext, useContext } from 'react'
import { apiOf } from '../client/api.ts'

export const CurrentProject = createContext<Project | null>(null)

/** The project in the URL. Pages below /app/p/$projectId render only once it is loaded. */
export function useProject(): Project {
  const project = useContext(CurrentProject)
  if (!project) throw new Error('useProject() outside a project page')
  return project
}

/** The API client of the project in the URL. */
export function useApi(): Sterna {
  return apiOf(useProject().id)
}

/** Owners and admins see the keys, invite people and change settings. */
export function canManage({ role }: Pick<Project, 'role'>): boolean {
  return role !== 'MEMBER'
}
