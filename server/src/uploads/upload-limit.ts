import { fail } from '../lib/errors.ts'

/** Turns away whoever would be too much: for all together, and for one project, so that it leaves room for the others. */
export function createDoor({ inside, ofOneProject }: { inside: number; ofOneProject: number }) {
  let all = 0
  const byProject = new Map<string, number>()
  return async <T>(projectId: string, work: () => Promise<T>): Promise<T> => {
    const mine = byProject.get(projectId) ?? 0
    if (all >= inside || mine >= ofOneProject)
      fail('SERVICE_UNAVAILABLE', { message: 'Too many uploads at once. Try again shortly.', retryAfter: 2 })
    all++
    byProject.set(projectId, mine + 1)
    try {
      return await work()
    } finally {
      all--
      const left = byProject.get(projectId)! - 1
      if (left) byProject.set(projectId, left)
      else byProject.delete(projectId)
    }
  }
}
