import { type Db, one } from '../db/index.ts'
import { inDaysSql } from '../events/day.ts'
import { FIGURE_SUMS, type FigureCounts } from './figures.ts'
import { readGrowthTotals } from './growth.ts'
import { type Period, previousPeriod } from './period.ts'

/** Sums over UTC days. */
const readTotals = async (db: Db, projectId: string, period: Period) => ({
  ...period,
  ...(await one<FigureCounts>(db)`select ${FIGURE_SUMS} from email_days where project_id = ${projectId} ${inDaysSql(period)}`),
  ...(await readGrowthTotals(db, projectId, period)),
})

/** A period, and the one of the same length before it. */
export const readSummary = async (db: Db, projectId: string, period: Period) => ({
  current: await readTotals(db, projectId, period),
  previous: await readTotals(db, projectId, previousPeriod(period)),
})
