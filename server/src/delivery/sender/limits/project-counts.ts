export type ProjectCounts = ReadonlyMap<string, number>

/** Numbers of emails by project, or by owner, changed as emails come and go: they are read for every email that leaves. */
export function createProjectCounts() {
  const counts = new Map<string, number>()
  return {
    counts: counts as ProjectCounts,
    change(projectId: string, by: 1 | -1) {
      const count = (counts.get(projectId) ?? 0) + by
      if (count) counts.set(projectId, count)
      else counts.delete(projectId)
    },
  }
}
