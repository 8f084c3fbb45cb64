/** The counts in the result of an import. */
export const importCounts = (totalRows: number, createdCount: number, updatedCount: number) => ({
  totalRows,
  createdCount,
  updatedCount,
  successCount: createdCount + updatedCount,
  failureCount: totalRows - createdCount - updatedCount,
})
