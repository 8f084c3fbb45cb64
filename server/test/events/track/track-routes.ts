import type { Answer } from '../../support/app.ts'
import type { projectClient } from '../../support/project.ts'

type Project = ReturnType<typeof projectClient>

/** Both routes that track an event, for rules that hold for both. */
export const TRACK_ROUTES: [string, (project: Project, body: unknown) => Promise<Answer>][] = [
  ['POST /v1/track', (project, body) => project.track(body)],
  ['POST /events/track', (project, body) => project.call('POST', '/events/track', body)],
]
