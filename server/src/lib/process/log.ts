import pino from 'pino'

export type Log = pino.Logger

const OPTIONS = {
  name: 'sterna',
  base: undefined,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  redact: {
    paths: [
      'authorization',
      'cookie',
      'password',
      'token',
      'secret',
      'headers.authorization',
      'headers.cookie',
      '*.password',
      '*.token',
      '*.secret',
    ],
    censor: '[redacted]',
  },
}

/** JSON lines with credentials redacted, on stdout unless `to` is given. docs/monitoring.md lists their fields. */
export const createLog = (level: string, to?: pino.DestinationStream): Log =>
  to ? pino({ ...OPTIONS, level }, to) : pino({ ...OPTIONS, level })
