import pino from 'pino'

export type Log = pino.Logger

/** JSON lines on stdout, with credentials redacted. */
export const createLog = (level: string, name = 'sterna'): Log =>
  pino({
    name,
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
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
  })
