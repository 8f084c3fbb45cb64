import type { WebhookEndpoint } from '@sterna/sdk'
import { formatCount, formatPercent } from '../../ui/text/count.tsx'
import { Status } from '../../ui/text/status.tsx'

const REASONS = {
  gone: 'It answered with status 410, so it was disabled.',
  failing: 'All requests to it failed for five days, so it was disabled.',
  backlog: 'More than a million deliveries waited, so it was disabled.',
}

/** Why Sterna has disabled the endpoint. */
export const disabledReasonOf = ({ disabledReason }: WebhookEndpoint) => (disabledReason ? REASONS[disabledReason] : undefined)

export function EndpointStatus({ endpoint }: { endpoint: WebhookEndpoint }) {
  const status = !endpoint.enabled ? 'disabled' : endpoint.failingSince ? 'failing' : 'enabled'
  return <Status kind="endpoint" status={status} />
}

/** Attempts of the last 24 hours: how many, how many succeeded, how long they took. */
export function Health({ endpoint: { health } }: { endpoint: WebhookEndpoint }) {
  const figures = {
    'Requests, 24 hours': formatCount(health.succeeded + health.failed),
    Succeeded: health.successRate === null ? '–' : formatPercent(health.successRate),
    'Average time': health.averageMs === null ? '–' : `${formatCount(health.averageMs)} ms`,
  }
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      {Object.entries(figures).map(([label, value]) => (
        <div key={label}>
          <dt className="text-muted text-xs">{label}</dt>
          <dd className="font-semibold text-title tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
