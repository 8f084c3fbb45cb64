import { useQuery } from '@tanstack/react-query'
import type { DayFigures } from '../data/analytics.ts'
import { configQuery } from '../data/installation.ts'
import { sumOf } from './period.ts'

/** Plain SMTP reports no deliveries: a rate of zero would be wrong. */
export function useReportsDelivery(days: DayFigures[]): boolean {
  const transport = useQuery(configQuery).data?.features.email.transport
  return transport !== 'smtp' || sumOf(days, 'delivered') > 0
}
