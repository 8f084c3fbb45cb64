import { SternaError } from '@sterna/sdk'

/** The text of an error for the user. */
export function explain(error: unknown): string {
  if (!(error instanceof SternaError)) return 'Something went wrong on this page. Reload it and try again.'
  if (error.code === 'NETWORK_ERROR') return 'The server cannot be reached. Check your connection and try again.'
  if (error.code === 'TIMEOUT') return 'The server took too long to respond. Try again.'
  if (error.retryAfter) return `${error.message} Try again in ${duration(error.retryAfter)}.`
  const issues = error.errors.map((issue) => `${issue.field}: ${issue.message}`)
  return [error.message, ...issues].join(' ')
}

export function fieldIssues(error: Error): SternaError['errors'] {
  return error instanceof SternaError ? error.errors : []
}

function duration(seconds: number): string {
  const [amount, unit] =
    seconds < 90 ? [seconds, 'second'] : seconds < 5_400 ? [Math.ceil(seconds / 60), 'minute'] : [Math.ceil(seconds / 3_600), 'hour']
  return `${amount} ${unit}${amount === 1 ? '' : 's'}`
}
