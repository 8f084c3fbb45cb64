import type { Project } from '@sterna/sdk'
import { createContext, useContext } from 'react'

export const CurrentProject = createContext<Project | null>(null)

/** The project in the URL. Pages below /app/p/$projectId are only drawn once it is known. */
export function useProject(): Project {
  const project = useContext(CurrentProject)
  if (!project) throw new Error('useProject() outside of a project page')
  return project
}

/** Whoever runs the project, as opposed to working in it: sees keys, invites people, changes settings. */
export function canManage({ role }: Pick<Project, 'role'>): boolean {
  return role !== 'MEMBER'
}
