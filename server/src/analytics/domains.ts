import { type Db, many } from '../db/index.ts'
import { percent } from '../lib/text/percent.ts'
import { FIGURE_SUMS, type FigureCounts, ratesOf } from './figures.ts'
import type { Period } from './period.ts'

/** The domains of recipients with the most emails, then all others together, as far as they are counted apart. */
export async function listRecipientDomains(db: Db, projectId: string, { limit, period: { from, to } }: { limit: number; period: Period }) {
  const rows = await many<FigureCounts & { domain: string | null }>(db)`
    with domains as (
      select domain, sum(sent) as all_sent from email_domain_days
      where project_id = ${projectId} and day >= ${from}::date and day <= ${to}::date group by domain
    ), largest as (
      select domain from domains where domain <> '' order by all_sent desc, domain limit ${limit}
    )
    select l.domain, ${FIGURE_SUMS}
    from email_domain_days d left join largest l on l.domain = d.domain
    where d.project_id = ${projectId} and d.day >= ${from}::date and d.day <= ${to}::date
    group by 1 order by l.domain is null, sum(d.sent) desc, l.domain
  `
  return rows.map(({ domain, ...figures }) => ({
    domain: domain ?? 'other',
    isOther: domain === null,
    ...figures,
    ...ratesOf(figures),
    bounceRate: percent(figures.bounces, Math.max(figures.emails, figures.bounces)),
    complaintRate: percent(figures.complaints, figures.emails),
  }))
}
