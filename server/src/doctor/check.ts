/** One line of the doctor: a subject, the finding and, for a problem, the remedy. */
export type Check = { name: string; verdict: 'ok' | 'warn' | 'FAIL'; note: string }

export const ok = (name: string, note: string): Check => ({ name, verdict: 'ok', note })
export const warn = (name: string, note: string): Check => ({ name, verdict: 'warn', note })
export const failed = (name: string, note: string): Check => ({ name, verdict: 'FAIL', note })
