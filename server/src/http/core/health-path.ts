export const isHealthPath = (url: string | undefined) => url === '/health' || url === '/ready'
