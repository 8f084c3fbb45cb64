import type { Period } from '../../projects/period.ts'

type Filter = { statuses: string; period: Pick<Period, 'from' | 'to'>; source?: string | undefined; domain?: string }

/** The list behind a number. It goes by the day of the email, the number by the day on which something happened. */
export function emailsPath(projectId: string, { statuses, period, source, domain }: Filter): string {
  const search = new URLSearchParams({
    created: `${period.from}..${period.to}`,
    ...(statuses && { status: statuses }),
    ...(source && { source }),
    ...(domain && { domain }),
  })
  return `/app/p/${projectId}/emails?${search}`
}
