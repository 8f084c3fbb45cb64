import { fail } from '../lib/errors.ts'

/** Limits concurrent uploads, in total and per project, so that one project leaves slots for the others. */
export function createUploadLimit({ total, perProject }: { total: number; perProject: number }) {
  let running = 0
  const byProject = new Map<string, number>()
  return async <T>(projectId: string, work: () => Promise<T>): Promise<T> => {
    const ofProject = byProject.get(projectId) ?? 0
    if (running >= total || ofProject >= perProject)
      fail('SERVICE_UNAVAILABLE', { message: 'Too many uploads at once. Try again shortly.', retryAfter: 2 })
    running++
    byProject.set(projectId, ofProject + 1)
    try {
      return await work()
    } finally {
      running--
      const remaining = byProject.get(projectId)! - 1
      if (remaining) byProject.set(projectId, remaining)
      else byProject.delete(projectId)
    }
  }
}
