import { sql } from 'kysely'
import { type Db, one } from '../db/index.ts'
import { FIGURE_SUMS, type FigureCounts } from './figures.ts'
import { type GrowthCounts, readGrowthTotals } from './growth.ts'
import { type Period, previousPeriod } from './period.ts'

/** Sums over UTC days; over all of them without a period. */
const sumFigures = (db: Db, projectId: string, { from, to }: Partial<Period>): Promise<FigureCounts> =>
  one<FigureCounts>(db)`
    select ${FIGURE_SUMS} from email_days
    where project_id = ${projectId} ${from ? sql`and day >= ${from}::date` : sql``} ${to ? sql`and day <= ${to}::date` : sql``}
  `

export type PeriodTotals = Period & FigureCounts & GrowthCounts

const readTotals = async (db: Db, projectId: string, period: Period): Promise<PeriodTotals> => ({
  ...period,
  ...(await sumFigures(db, projectId, period)),
  ...(await readGrowthTotals(db, projectId, period)),
})

/** A period, and the one of the same length before it. */
export const readSummary = async (db: Db, projectId: string, period: Period) => ({
  current: await readTotals(db, projectId, period),
  previous: await readTotals(db, projectId, previousPeriod(period)),
})
