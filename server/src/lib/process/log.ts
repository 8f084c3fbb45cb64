import pino from 'pino'

export type Log = pino.Logger

const WARN = pino.levels.values.warn!

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

/**
 * JSON lines with credentials redacted, on stdout unless `to` is given. docs/monitoring.md lists their fields. Warnings and errors that are
 * `known` are left out.
 */
export function createLog(level: string, to?: pino.DestinationStream, known?: (fields: unknown) => boolean): Log {
  const hooks: pino.LoggerOptions['hooks'] = known && {
    logMethod(args, write, of) {
      if (of < WARN || !known(args[0])) write.apply(this, args)
    },
  }
  const options = { ...OPTIONS, level, ...(hooks ? { hooks } : {}) }
  return to ? pino(options, to) : pino(options)
}
