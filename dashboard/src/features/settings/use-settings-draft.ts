import type { Project } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../client/api.ts'
import { invalidateProjects } from '../../data/projects.ts'
import { useDraft } from '../../editor/use-draft.ts'
import { canManage, useProject } from '../../projects/current.ts'

type Setting = 'brand' | 'name' | 'tracking' | 'language' | 'timezone' | 'nameFields'

/** Some settings of the project, edited together. `name` is that of the draft. */
export function useSettingsDraft<Key extends Setting>(name: string, keys: readonly Key[]) {
  const project = useProject()
  const queries = useQueryClient()
  const savedOf = (from: Project) => ({
    values: Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<Project, Key>,
    revision: from.updatedAt,
  })
  const draft = useDraft<Pick<Project, Key>>({
    name,
    saved: savedOf(project),
    save: async (values) => {
      const saved = await api.projects.update(project.id, values)
      await invalidateProjects(queries)
      return savedOf(saved)
    },
    reload: async () => savedOf(project),
  })
  const mayManage = canManage(project)
  return { draft, mayManage, refusal: mayManage ? undefined : 'Only owners and admins can change settings' }
}
