/** Time limits of statements, in milliseconds. Parameters of the URL have precedence. */
export const DEFAULT_LIMITS = { statement_timeout: 5_000, lock_timeout: 2_000, idle_in_transaction_session_timeout: 10_000 }

const NAMES = Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[]

/**
 * A pooler in transaction mode refuses limits that a connection begins with: they are part of `begin` instead. A statement without a transaction has
 * those of the pooler's configuration.
 */
export function limitsInTransactions(url: string) {
  const [base, query = ''] = url.split('?')
  const params = new URLSearchParams(query)
  const limits = NAMES.map((name) => {
    const given = Number(params.get(name) ?? DEFAULT_LIMITS[name])
    params.delete(name)
    return `set local ${name} = ${Number.isFinite(given) ? Math.ceil(given) : DEFAULT_LIMITS[name]}`
  })
  return { url: params.size ? `${base}?${params}` : base!, begin: ['begin', ...limits].join('; ') }
}
