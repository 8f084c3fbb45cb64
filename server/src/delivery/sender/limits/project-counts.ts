import { addTo } from '../../../lib/concurrency/add-to.ts'

export type ProjectCounts = ReadonlyMap<string, number>

/** Numbers of emails by project, changed as emails come and go: they are read for every email that leaves. */
export function createProjectCounts() {
  const counts = new Map<string, number>()
  return {
    counts: counts as ProjectCounts,
    change: (projectId: string, by: 1 | -1) => addTo(counts, projectId, by),
  }
}
